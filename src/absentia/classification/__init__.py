"""Classification and regression from several kernels, whole views absent, without completing them."""
