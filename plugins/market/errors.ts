import { type ErrorKind, HubError, type HubErrorOptions } from 'patchbay/contract'

/** The error codes of the market. */
export const ERRORS = {
  template_not_found: {
    status: 404,
    title: 'No such template',
    remedy: 'GET /api/market/templates lists them.',
  },
  source_not_found: {
    status: 404,
    title: 'No such source of templates',
    remedy: 'GET /api/market/sources lists them.',
  },
  market_disabled: {
    status: 403,
    title: 'The market is switched off',
    remedy: 'Ask an administrator: PATCH /api/admin/settings with marketEnabled, or MARKET_ENABLED, switches it on.',
  },
  upgrade_unavailable: {
    status: 409,
    title: 'There is no version to change to',
    remedy: 'GET /api/market/updates lists the servers that can be changed to another version.',
  },
  template_unusable: {
    status: 409,
    title: 'The template cannot be installed',
    remedy: 'Choose another variant; the template says why this one cannot be used.',
  },
  market_unavailable: {
    status: 503,
    title: 'The list of templates is not available',
    remedy: 'Try again in a moment; GET /api/market/sources says what is wrong with the source.',
    retry: true,
  },
} as const satisfies Record<string, ErrorKind>

/** An error with a code of the market. */
export function marketError<C extends keyof typeof ERRORS>(
  code: C,
  message: string,
  options: HubErrorOptions<C> = {},
): HubError<C> {
  return new HubError(code, message, { ...options, own: ERRORS[code] })
}
