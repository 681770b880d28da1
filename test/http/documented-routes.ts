import type { Client } from '../support/hub.ts'

/** One route of the API document, with `thing` in the place of each parameter. */
export interface DocumentedRoute {
  readonly method: string
  readonly path: string
  /** True when everybody may use it. */
  readonly open: boolean
  /** True when it takes JSON. */
  readonly takesBody: boolean
  /** An example body from the document; undefined if the route takes none. */
  readonly example: unknown
  readonly query: readonly string[]
  /** Statuses of refusals that are plain JSON of a documented form, in place of a problem. */
  readonly plainRefusals: readonly number[]
}

interface Described {
  readonly content?: Readonly<Record<string, unknown>>
}

/** Every route that the hub says it has. */
export async function documentedRoutes(client: Client): Promise<readonly DocumentedRoute[]> {
  const { paths } = (await client.request('GET', '/api/openapi.json')).json
  return Object.entries(paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: the document as it is
    Object.entries(item as Record<string, any>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, 'thing'),
      open: operation['x-access'] === 'public',
      takesBody: operation.requestBody?.content['application/json'] !== undefined,
      example: operation.requestBody?.content['application/json']?.example,
      query: operation.parameters
        .filter((each: { in: string }) => each.in === 'query')
        .map((each: { name: string }) => each.name),
      plainRefusals: Object.entries(operation.responses)
        .filter(([status, answer]) => Number(status) >= 400 && (answer as Described).content?.['application/json'])
        .map(([status]) => Number(status)),
    })),
  )
}
