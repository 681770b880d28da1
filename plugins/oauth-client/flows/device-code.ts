import type { Errors } from '../discovery/discovery.ts'
import { isSafe } from '../discovery/web.ts'
import type { DeviceCode } from './flows.ts'

/** Usual time between two questions, where the issuer names none (RFC 8628, 3.2), and the bounds of what it names. */
const USUAL_SECONDS = 5
const LEAST_SECONDS = 1
const MOST_SECONDS = 60
/** Longest life of a code: issuers name 15 to 30 minutes. */
const MOST_LIFE_SECONDS = 1_800
/** A code for people: printable ASCII, so that it is the text that it seems to be. */
const USER_CODE = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/
const DEVICE_CODE = /^[\x20-\x7e]{1,4096}$/

/**
 * Reads an issuer's answer with a code (RFC 8628, 3.2). Throws `issuer_unusable` for one that cannot be shown to a person, or
 * whose page has no safe address. A missing or impossible `interval` counts as 5 s.
 */
export function readDeviceCode(
  { error }: Errors,
  issuer: string,
  answer: Readonly<Record<string, unknown>>,
  server: URL,
): DeviceCode {
  const unusable = (what: string) => error('issuer_unusable', `${issuer} gave a code ${what}`)
  const { device_code: deviceCode, user_code: userCode, expires_in, interval } = answer
  // Some issuers write the address as Google's first version of this grant did.
  const page = answer.verification_uri ?? answer.verification_url
  if (typeof deviceCode !== 'string' || !DEVICE_CODE.test(deviceCode)) throw unusable('that the hub cannot send back')
  if (typeof userCode !== 'string' || !USER_CODE.test(userCode))
    throw unusable(
      'for people that is missing, longer than 64 characters, or has others than letters, digits and signs',
    )
  if (!isSafe(page, server)) throw unusable('and names no https address at which to enter it')
  const seconds = Number(expires_in)
  if (!(seconds > 0)) throw unusable('and does not say how long it is valid')
  const complete = answer.verification_uri_complete
  const isSameOrigin = isSafe(complete, server) && new URL(complete).origin === new URL(page).origin
  const asked = Number(interval)
  const wait = asked > 0 ? Math.min(Math.max(asked, LEAST_SECONDS), MOST_SECONDS) : USUAL_SECONDS
  return {
    // As URLs are written, a host has no letters that look like others.
    ...{ deviceCode, userCode, verificationUri: new URL(page).href },
    ...(isSameOrigin ? { verificationUriComplete: new URL(complete).href } : {}),
    intervalMs: wait * 1_000,
    lifeMs: Math.min(seconds, MOST_LIFE_SECONDS) * 1_000,
  }
}

/** True when the page for the code is at the issuer itself. */
export function isOfIssuer(page: string, issuer: string): boolean {
  return URL.parse(page)?.origin === URL.parse(issuer)?.origin
}
