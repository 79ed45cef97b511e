"""One file a family of framework calls; every module here registers its calls in kernels.api.APIS."""
