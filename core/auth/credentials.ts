import { HubError } from '../contract/errors.ts'

/** The characters of a bearer token (RFC 6750, section 2.1). */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/
const BEARER = /^bearer[ \t]+(.*)$/i

/**
 * The single credential of a request, from `Authorization` and, where accepted, `x-auth-token`. Throws HubError:
 * unauthenticated, header_duplicate, credentials_conflict, token_invalid (characters that no token has).
 */
export function credentialOf(authorization: string | null, authToken: string | null): string {
  if (authorization === null && authToken === null) {
    throw new HubError('unauthenticated', 'A credential is needed')
  }
  const bearer = authorization === null ? undefined : fromAuthorization(authorization)
  const plain = authToken === null ? undefined : fromAuthToken(authToken)
  if (bearer !== undefined && plain !== undefined && bearer !== plain) {
    throw new HubError('credentials_conflict', '"Authorization" and "x-auth-token" hold different credentials', {
      hint: 'Send one of the two.',
    })
  }
  return wellFormed((bearer ?? plain) as string)
}

/** Throws `token_invalid` for a text that cannot be a token. */
export function wellFormed(token: string): string {
  if (token.length > 8192 || !TOKEN.test(token)) {
    throw new HubError('token_invalid', 'The credential is not in the form of a token')
  }
  return token
}

function fromAuthorization(header: string): string {
  // Repeated headers arrive joined with a comma, which neither a token nor the word Bearer contains.
  if (header.includes(',')) throw duplicate('Authorization')
  const token = BEARER.exec(header)?.[1]?.trim()
  if (!token) {
    throw new HubError('unauthenticated', 'The Authorization header holds no Bearer token', {
      hint: 'Send "Authorization: Bearer <token>"; other schemes are not taken.',
    })
  }
  return token
}

function fromAuthToken(header: string): string {
  if (header.includes(',')) throw duplicate('x-auth-token')
  const token = header.trim()
  if (token === '') throw new HubError('unauthenticated', 'The x-auth-token header is empty')
  return token
}

function duplicate(name: string): HubError {
  return new HubError('header_duplicate', `The header "${name}" came twice`)
}
