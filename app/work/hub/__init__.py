"""Public model hubs: a pasted link, the files behind it, a verdict before the download, the download itself."""
