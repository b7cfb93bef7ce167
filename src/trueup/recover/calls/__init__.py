"""Tool calls written into the text of a reply, in every dialect that models are trained on."""
