"""Does a model reproduce the vectors of the program that it came from?"""
