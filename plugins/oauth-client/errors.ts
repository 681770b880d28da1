import type { ErrorKind } from 'patchbay/contract'

/** The codes of this plugin. */
export const ERRORS: Readonly<Record<string, ErrorKind>> = {
  sign_in_needed: {
    status: 503,
    title: 'The server wants you to sign in',
    remedy: 'Sign in at the page of the error.',
  },
  scope_needed: {
    status: 403,
    title: 'The server wants a wider permission',
    remedy: 'Sign in at the page of the error and allow what it asks for.',
    rpc: -32603,
  },
  scope_denied: {
    status: 403,
    title: 'The permission was given and does not suffice',
    remedy: 'Ask whoever runs the server which permission its tool needs.',
    rpc: -32603,
  },
  resource_changed: {
    status: 503,
    title: 'The address of the server has changed since you signed in',
    remedy: 'Sign in again: what you have is for the former address.',
  },
  issuer_changed: {
    status: 503,
    title: 'The server has another issuer since you signed in',
    remedy: 'Sign in again: what you have is of the former issuer, and stays there.',
  },
  flow_unknown: {
    status: 400,
    title: 'The sign-in is not known any more',
    remedy: 'Begin the sign-in again: it is valid for ten minutes and can be used once.',
  },
  flow_expired: {
    status: 400,
    title: 'The code was not entered in time',
    remedy: 'Begin again, and enter the code at the issuer before it ends.',
  },
  flow_foreign: {
    status: 400,
    title: 'Somebody else began this sign-in',
    remedy: 'Begin a sign-in of your own, at the page of the server.',
  },
  sign_in_denied: {
    status: 400,
    title: 'The sign-in was not granted',
    remedy: 'Begin again, and allow what is asked for.',
  },
  issuer_mismatch: {
    status: 400,
    title: 'The issuer is not the one that was asked',
    remedy: 'Ask whoever runs the issuer; nothing was sent to it.',
  },
  resource_mismatch: {
    status: 400,
    title: 'The server describes another resource',
    remedy: 'Check the address of the server, and ask whoever runs it.',
  },
  pkce_unsupported: {
    status: 400,
    title: 'The issuer does not say that it supports PKCE with S256',
    remedy: 'Ask whoever runs the issuer; nothing is sent to it without PKCE.',
  },
  issuer_unusable: {
    status: 400,
    title: 'No usable issuer for the server',
    remedy: 'Set "issuer" in "oauth" of the server, or give it a token in "headers".',
  },
  issuer_unreachable: {
    status: 502,
    title: 'The issuer could not be reached',
    remedy: 'Try again later; the hub does so too.',
  },
  client_needed: {
    status: 400,
    title: 'The issuer wants a client that a person registered',
    remedy: 'Register an app at the issuer with the redirect URI, and set "oauth.clientId" and "oauth.clientSecret".',
  },
  client_refused: {
    status: 400,
    title: 'The client was refused',
    remedy: 'Check the id and secret of the client; let it register again, or ask an administrator to list it.',
  },
  token_too_large: {
    status: 400,
    title: 'The issuer gave a token over 16 KiB',
    remedy: 'Ask for fewer permissions: they are often in the token.',
  },
  connection_not_found: {
    status: 404,
    title: 'No such connection',
    remedy: 'GET /api/connections lists yours.',
  },
}
