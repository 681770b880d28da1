import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { propertiesOf, type Transports } from '../../domain/server/transports.ts'

/** Marks a schema of the API to which the document adds the fields of the transports. */
export const TRANSPORT_FIELDS = 'x-transport-fields'

/** The schema of each transport's own fields, by the name that the document gives it. */
export function transportSchemas(transports: Transports): Readonly<Record<string, JsonObject>> {
  return Object.fromEntries(
    transports.all().map(({ name, label, shown: { $schema: _, ...schema } }) => {
      return [`Transport.${name}`, { title: label, ...schema }]
    }),
  )
}

/** The function that adds the fields of the transports to every marked schema of a part of the document. */
export function transportFieldsAdder(transports: Transports): (part: JsonObject) => JsonObject {
  const names = new Set(transports.all().flatMap(({ shown }) => Object.keys(propertiesOf(shown))))
  const fields = Object.fromEntries([...names].map(name => [name, fieldOf(transports, name)]))
  return part => walk(part, fields) as JsonObject
}

function walk(value: JsonValue, fields: JsonObject): JsonValue {
  if (Array.isArray(value)) return value.map(item => walk(item, fields))
  if (!isJsonObject(value)) return value
  const { [TRANSPORT_FIELDS]: marked, ...rest } = value
  const copy = Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, walk(item, fields)]))
  return marked === true && isJsonObject(copy.properties)
    ? { ...copy, properties: { ...copy.properties, ...fields } }
    : copy
}

/** The schema of a field: every one that a transport has for it. */
function fieldOf(transports: Transports, field: string): JsonValue {
  const texts = transports.all().flatMap(({ shown }) => {
    const part = propertiesOf(shown)[field]
    return part ? [JSON.stringify(part)] : []
  })
  const schemas = [...new Set(texts)].map(text => JSON.parse(text) as JsonObject)
  if (schemas.length === 1) return schemas[0] ?? {}
  return { anyOf: schemas, description: 'What it means is in the schema of the transport.' }
}
