import { HubError } from '../contract/errors.ts'

/** A failure before the first byte of the request was written: `data.sent` false means that it can be sent again. */
export function notSent(code: HubError['code'], message: string, cause?: unknown): HubError {
  return new HubError(code, message, { data: { sent: false }, cause })
}

/** The error for a connection that failed, from the runtime's error. */
export function connectFailure(origin: string, error: unknown): HubError {
  const why = CONNECT_REASONS[codeOf(error)] ?? 'the connection failed'
  return notSent('connection_lost', `Cannot connect to ${origin}: ${why}`, error)
}

/** The error for a rejected certificate or handshake: its code alone, as the message quotes the certificate. */
export function tlsFailure(origin: string, error: unknown): HubError {
  const why = TLS_REASONS[codeOf(error)] ?? 'the TLS handshake failed, perhaps because it speaks plain http there'
  return notSent('upstream_tls_error', `No secure connection to ${origin}: ${why}`, error)
}

/** True for a handshake error about the certificate alone: the connection is encrypted, but the peer is not verified. */
export function isCertificateFault(error: unknown): boolean {
  return Object.hasOwn(TLS_REASONS, codeOf(error)) || /^(?:CERT_|CRL_|ERR_TLS_CERT_)/.test(codeOf(error))
}

const CONNECT_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ETIMEDOUT: 'nobody answered',
  EHOSTUNREACH: 'there is no way to its network',
  ENETUNREACH: 'there is no way to its network',
}

const UNTRUSTED = 'its certificate comes from an issuer that is not trusted here'
const TLS_REASONS: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}
