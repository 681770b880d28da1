import { HubError } from 'patchbay/contract'
import { withoutEnd } from 'patchbay/transport-kit'
import { misplaced } from './values.ts'

/** `.`, `..`, and what servers treat as one of them: with path parameters behind it, or encoded once or more. */
const DOT_SEGMENT = /^\.{1,2}(?:;.*)?$/s
const DECODINGS = 3

/** The base address of an operation's path. Throws `config_invalid` when it is not an http or https address. */
export function baseAddress(address: string, relativeTo: string | undefined): URL {
  const url = URL.parse(address, relativeTo)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw unusable(`${JSON.stringify(address.replace(/\/\/[^/]*@/, '//').slice(0, 128))} is no http or https URL`)
  }
  if (url.username !== '' || url.password !== '') {
    throw unusable(`"${url.origin}" comes with a user name or a password, which belong into "openapi.auth"`)
  }
  url.hash = ''
  url.search = ''
  return url
}

function unusable(why: string): HubError {
  return new HubError('config_invalid', `The API has no usable address: ${why}`, { hint: 'Set "openapi.baseUrl".' })
}

/** Rejects a path value that is empty, or that would lead to another segment, here or behind a proxy. */
export function checkSegment(value: string, argument: string): void {
  if (value === '') throw misplaced(argument, 'is empty, and its place in the path cannot be')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not be in a path
  if (/[\x00-\x1f\x7f]/.test(value))
    throw misplaced(argument, 'holds a control character, which has no place in a path')
  let text = value
  for (let round = 0; round <= DECODINGS; round += 1) {
    if (text.split(/[/\\]/).some(segment => DOT_SEGMENT.test(segment))) {
      throw misplaced(argument, 'would lead to another path by "." or ".."')
    }
    const decoded = decode(text)
    if (decoded === text) return
    text = decoded
  }
}

/**
 * The address of one call: `path` is already encoded. Checks afterwards that it is below the base address and has as
 * many segments as its template. Throws `params_invalid` otherwise.
 */
export function callAddress(base: URL, path: string, query: string, segments: number): string {
  const prefix = withoutEnd(base.pathname, '/')
  const url = URL.parse(`${base.origin}${prefix}${path}${query === '' ? '' : `?${query}`}`)
  const inside = url !== null && url.origin === base.origin && url.pathname.startsWith(`${prefix}/`)
  if (!inside || url.pathname.slice(prefix.length).split('/').length - 1 !== segments) {
    throw new HubError(
      'params_invalid',
      'The arguments would lead to another path than the operation’s; nothing was sent',
    )
  }
  return url.href
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A text that is not valid encoding as a whole may still contain one.
    return text.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '\\')
  }
}
