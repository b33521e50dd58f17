"""`tilegen check`: is an emitted file, perhaps edited by hand, still what its kernel in Python means?"""
