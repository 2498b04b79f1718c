class APIError(Exception):
    pass


class NotFound(APIError):
    pass
