"""write_settings.py FILE: writes the settings of a translator as types, from their schemas."""

import json
import sys

import _residual


def type_of(key, schema, tables):
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    if schema["type"] == "object":
        name = key.title().replace("_", "") + "Settings"
        tables[name] = schema["properties"]
        return name
    if schema["type"] == "array":
        return f"list[{type_of(key, schema['items'], tables)}]"
    return {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}[schema["type"]]


def write_class(name, properties, written):
    tables, lines = {}, [f"class {name}(TypedDict, total=False):"]
    for key, schema in properties.items():
        lines += [
            f"    {key}: {type_of(key, schema, tables)}",
            f"    {json.dumps(schema.get('description', ''), ensure_ascii=False)}",
        ]
    for inner, fields in tables.items():
        write_class(inner, fields, written)
    written[name] = "\n".join(lines)


classes = {}
write_class("CallSettings", json.loads(_residual.call_settings_schema()), classes)
settings = json.loads(_residual.settings_schema())
settings.pop("terms", None)  # Translator's own argument, which also takes a mapping
write_class("TranslatorSettings", settings, classes)
head = (
    '"""Generated from the settings of the library."""\n\nfrom typing import Literal, TypedDict\n'
)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("\n\n".join([head, *classes.values()]) + "\n")
