"""A model beside the vectors of the program it came from: do they agree?"""
