import { HubError } from '../../contract/errors.ts'

/** Decodes a body as UTF-8. Throws `json_encoding` for invalid bytes, and for a byte order mark. */
export function decodeBody(bytes: Uint8Array): string {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  try {
    if (!marked) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    // Thrown below.
  }
  throw new HubError(
    'json_encoding',
    `The body is not plain UTF-8${marked ? ': it begins with a byte order mark' : ''}`,
  )
}
