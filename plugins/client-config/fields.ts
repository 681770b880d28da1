import type { EndpointInfo } from 'patchbay/features'

/** Value of the header that opens the group. */
export const bearer = ({ key }: Pick<EndpointInfo, 'key'>): string => `Bearer ${key}`

/** Headers of a request to the group. */
export const headers = (endpoint: Pick<EndpointInfo, 'key'>): { readonly Authorization: string } => ({
  Authorization: bearer(endpoint),
})

/** One entry of a file in YAML. A string of JSON is one of YAML too. */
export function yaml(table: string, first: string, endpoint: EndpointInfo, members: readonly string[]): string {
  const lines = members.map(line => `    ${line}`)
  const text = [`${table}:`, first, ...lines, ''].join('\n')
  return text
    .replace('$URL', () => JSON.stringify(endpoint.url))
    .replace('$KEY', () => JSON.stringify(bearer(endpoint)))
}
