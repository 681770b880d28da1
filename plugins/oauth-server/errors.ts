import type { ErrorKind, HubError, RouteAnswerKind } from 'patchbay/contract'
import { z } from 'zod'

/** Makes errors with the codes of the plugin. */
export type Fail = (code: keyof typeof ERRORS, message: string, options?: { readonly cause?: unknown }) => HubError

/** The plugin's codes. */
export const ERRORS = {
  authorization_invalid: {
    status: 400,
    title: 'The sign-in request is not valid',
    remedy: 'Begin again in the client. If it stays, report the message to its maker.',
  },
  flow_unknown: {
    status: 400,
    title: 'The sign-in is not known any more',
    remedy: 'Begin the sign-in again: it is valid for ten minutes and can be used once.',
  },
  redirect_mismatch: {
    status: 400,
    title: 'The answer would go to another address',
    remedy: 'Use the client from its own maker; it must ask for an address that it has registered.',
  },
  request_decided: {
    status: 409,
    title: 'The request was decided already',
    remedy: 'Begin the sign-in again in the client.',
  },
  client_refused: {
    status: 400,
    title: 'The client was refused',
    remedy: 'Check the id and secret of the client; let it register again, or ask an administrator to list it.',
  },
  client_blocked: {
    status: 403,
    title: 'The client is blocked',
    remedy: 'Ask an administrator of the hub to unblock it.',
  },
  client_not_found: {
    status: 404,
    title: 'No such client',
    remedy: 'GET /api/admin/oauth/clients lists the clients.',
  },
  grant_not_found: {
    status: 404,
    title: 'No such connected app',
    remedy: 'GET /api/oauth/grants lists yours.',
  },
  identity_unknown: {
    status: 403,
    title: 'No user of this hub has this account',
    remedy: 'Sign in with your password and link the account in the settings, or ask an administrator.',
  },
  issuer_unreachable: {
    status: 502,
    title: 'The issuer could not be reached',
    remedy: 'Try again later; the hub does so too.',
  },
} as const satisfies Readonly<Record<string, ErrorKind>>

/** The meaning of `session_required` at the routes of the plugin, which take no access key. */
export const SESSION_REQUIRED: ErrorKind = {
  status: 403,
  title: 'A sign-in is needed',
  remedy: 'Sign in to the console; access keys cannot do this.',
}

const oauthRefusal = z
  .object({ error: z.string(), error_description: z.string() })
  .meta({ description: 'An error in the form of OAuth (RFC 6749, section 5.2)' })

/** An answer in the form of OAuth, in place of a problem, as the API document shows it. `codes`: the values of `error`. */
export function oauthAnswer(error: string, codes = error): RouteAnswerKind {
  return {
    description: codes,
    schema: oauthRefusal,
    example: { error, error_description: 'A sentence for the developer of the client' },
  }
}

/** An error of RFC 6749, section 5.2, as `/token`, `/revoke` and `/register` answer it. */
export class OAuthError extends Error {
  readonly error: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(error: string, description: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(description)
    this.error = error
    this.status = status
    this.headers = headers
  }

  get answer() {
    const body = { error: this.error, error_description: this.message }
    return { status: this.status, body, headers: { ...this.headers, pragma: 'no-cache' } }
  }
}
