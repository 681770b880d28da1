import type { Tool } from '@modelcontextprotocol/client'

interface Property {
  readonly type?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
}

/**
 * Arguments that suit the tool's schema: for each property its default, the first of its choices, or something of its type.
 * A property named `schema` gets the input schema of the first other tool as it was received, so that a server sees the
 * changes on the way.
 */
export function argumentsFor(tool: Tool, all: readonly Tool[]): Record<string, unknown> {
  const properties = (tool.inputSchema.properties ?? {}) as Readonly<Record<string, Property>>
  const other = all.find(({ name }) => name !== tool.name)
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      name === 'schema' && other ? other.inputSchema : suitable(property),
    ]),
  )
}

function suitable(property: Property): unknown {
  if (property.default !== undefined) return property.default
  if (property.enum) return property.enum[0]
  switch (property.type) {
    case 'number':
    case 'integer':
      return 2
    case 'boolean':
      return true
    case 'array':
      return []
    case 'object':
      return {}
    default:
      return 'a text'
  }
}
