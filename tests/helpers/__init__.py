"""What tests of several packages share: problems, registries of methods, damaged files, servers."""
