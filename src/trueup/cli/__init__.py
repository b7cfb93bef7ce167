"""The command line, one file per command. It shows what the rest of trueup decides and judges nothing itself."""
