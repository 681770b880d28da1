import { type ErrorKind, HubError, type HubErrorOptions } from 'patchbay/contract'

/** The error codes of bundles. */
export const ERRORS = {
  bundle_invalid: {
    status: 400,
    title: 'The bundle cannot be used',
    remedy: 'Send a file that "mcpb pack" has made; the message says what is wrong with this one.',
  },
  bundle_not_found: {
    status: 404,
    title: 'No such bundle',
    remedy: 'GET /api/bundles lists yours; POST /api/bundles takes its file.',
  },
  bundle_unusable: {
    status: 409,
    title: 'The bundle cannot be installed',
    remedy: 'Ask its authors for a bundle of this platform; the message says what is wrong.',
  },
  bundle_in_use: {
    status: 409,
    title: 'A server uses the bundle',
    remedy: 'Remove the servers that use it first; the message names one.',
  },
  quota_bundles: {
    status: 409,
    title: 'Too many bundles',
    remedy: 'Remove one with DELETE /api/bundles/{id}; GET /api/bundles says which are used.',
  },
  bundle_too_large: {
    status: 413,
    title: 'The bundle is too large',
    remedy: 'Ask its authors for a smaller one; GET /api/limits says how much is taken.',
  },
} as const satisfies Record<string, ErrorKind>

/** The codes of fields of a server that name bundles. */
export const FIELD_CODES = { bundle_missing: 'is a bundle that the server’s owner does not have' } as const

/** An error with a code of bundles. */
export function bundleError<C extends keyof typeof ERRORS>(
  code: C,
  message: string,
  options: HubErrorOptions<C> = {},
): HubError<C> {
  return new HubError(code, message, { ...options, own: ERRORS[code] })
}
