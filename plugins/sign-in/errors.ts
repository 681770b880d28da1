import type { ErrorKind, HubError } from 'patchbay/contract'

/** Makes errors with the codes of the plugin. */
export type Fail = (code: keyof typeof ERRORS, message: string, cause?: unknown) => HubError

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
  provider_not_found: {
    status: 404,
    title: 'No such provider of sign-ins',
    remedy: 'GET /api/auth/providers lists those of this hub.',
  },
  provider_unreachable: {
    status: 502,
    title: 'The provider of the sign-in does not answer',
    remedy: 'Try again in a while, or sign in with your password.',
  },
  provider_refused: {
    status: 400,
    title: 'The provider did not sign you in',
    remedy: 'Begin again. If it stays, ask an administrator of the hub to check the provider.',
  },
  sign_in_foreign: {
    status: 400,
    title: 'The sign-in was begun elsewhere',
    remedy: 'Begin the sign-in again in this window; it is valid for ten minutes.',
  },
  identity_unknown: {
    status: 403,
    title: 'No user of this hub has this account',
    remedy: 'Sign in with your password and link the account in the settings, or ask an administrator.',
  },
  identity_taken: {
    status: 409,
    title: 'Another user has linked this account',
    remedy: 'Unlink it there first.',
  },
  identity_not_found: {
    status: 404,
    title: 'No such linked account',
    remedy: 'GET /api/auth/identities lists yours.',
  },
  last_sign_in: {
    status: 409,
    title: 'The last way to sign in',
    remedy: 'Link another account first, or ask an administrator for a password.',
  },
  passkey_refused: {
    status: 401,
    title: 'The passkey does not count',
    remedy: 'Begin again with a passkey that you have set at this address, or sign in another way.',
  },
  passkey_taken: {
    status: 409,
    title: 'The passkey is set already',
    remedy: 'Make a new passkey, or use this one.',
  },
  passkeys_unavailable: {
    status: 409,
    title: 'There are no passkeys at this address',
    remedy: 'Open the hub by a host name with https, or set an authenticator app.',
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
