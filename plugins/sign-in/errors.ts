import type { ErrorKind, HubError } from 'patchbay/contract'

/** Makes errors with the codes of the plugin. */
export type Fail = (code: keyof typeof ERRORS, message: string) => HubError

/** The plugin's codes. */
export const ERRORS = {
  second_factor_failed: {
    status: 401,
    title: 'The code is not right',
    remedy: 'Enter the code that the app shows now, once, or a recovery code that was not used.',
  },
  second_factor_ended: {
    status: 401,
    title: 'The sign-in has to begin again',
    remedy: 'Enter user name and password again: a sign-in waits five minutes for its code, and takes five.',
  },
  factor_not_found: {
    status: 404,
    title: 'No such second factor',
    remedy: 'GET /api/auth/factors lists yours.',
  },
  quota_factors: {
    status: 409,
    title: 'Too many second factors',
    remedy: 'Remove one that you do not use any more.',
  },
} as const satisfies Readonly<Record<string, ErrorKind>>
