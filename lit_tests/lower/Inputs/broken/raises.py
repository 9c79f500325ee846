def batch_of(settings):
    return settings["batch"]


SIZE = batch_of({})
