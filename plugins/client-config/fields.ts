import type { EndpointInfo } from 'patchbay/contract'

/** Value of the header that opens the group. */
export const bearer = ({ key }: Pick<EndpointInfo, 'key'>): string => `Bearer ${key}`

/** Headers of a request to the group. */
export const headers = (endpoint: Pick<EndpointInfo, 'key'>): { readonly Authorization: string } => ({
  Authorization: bearer(endpoint),
})
