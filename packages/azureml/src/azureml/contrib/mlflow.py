from footplate.sdk.unsupported import absent

absent(__name__)
