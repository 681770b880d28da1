import { type ErrorKind, HubError, type HubErrorOptions } from 'patchbay/contract'

/** The error codes of the store. */
export const ERRORS = {
  history_unavailable: {
    status: 503,
    title: 'The history is not available',
    remedy: 'Try again in a moment; the log says why the history failed.',
    retry: true,
  },
} as const satisfies Record<string, ErrorKind>

/** An error with a code of the store. */
export function logError<C extends keyof typeof ERRORS>(
  code: C,
  message: string,
  options: HubErrorOptions<C> = {},
): HubError<C> {
  return new HubError(code, message, { ...options, own: ERRORS[code] })
}
