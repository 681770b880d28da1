import { Buffer } from 'node:buffer'

/** Shorter secrets are not searched for, as they would match ordinary words. In UTF-16 code units. */
export const SHORTEST_SECRET = 8

/**
 * The byte strings (one character per byte) to search for: the secret's UTF-8 and Latin-1 bytes, the bytes with `+` for
 * spaces as in forms, base64 of both alphabets at any offset, and hexadecimal. Percent-encoding and JSON escapes have
 * too many spellings, so the text is decoded instead; only their usual spellings are here, since a stray `%0` or
 * backslash before a secret would swallow its first character in decoding.
 */
export function secretForms(secret: string): string[] {
  const utf8 = Buffer.from(secret, 'utf8')
  const forms = [
    utf8.toString('latin1'),
    ...base64Forms(utf8),
    utf8.toString('hex'),
    utf8.toString('hex').toUpperCase(),
  ]
  for (const form of usualEscapes(secret)) forms.push(Buffer.from(form).toString('latin1'))
  if (secret.includes(' ')) forms.push(utf8.toString('latin1').replaceAll(' ', '+'))
  // Latin-1 forms, if they differ from UTF-8: `btoa`, `escape` and older HTTP clients encode in it.
  if (/[\u0080-\u00ff]/.test(secret) && !/[\u0100-\uffff]/.test(secret)) {
    const latin1 = Buffer.from(secret, 'latin1')
    forms.push(latin1.toString('latin1'), ...base64Forms(latin1))
  }
  return forms
}

function usualEscapes(secret: string): string[] {
  if (/^[\w.~-]*$/.test(secret)) return []
  const json = JSON.stringify(secret).slice(1, -1)
  // encodeURIComponent throws for a lone surrogate, which has no UTF-8 form.
  const component = encodeURIComponent(secret.toWellFormed())
  const lower = component.replace(/%[0-9A-F]{2}/g, hex => hex.toLowerCase())
  return [json, component, component.replaceAll('%20', '+'), lower, lower.replaceAll('%20', '+')]
}

/** The base64 characters that depend on the secret alone, for each of the three offsets at which it may begin. */
function base64Forms(bytes: Buffer): string[] {
  const padded = Buffer.concat([Buffer.alloc(2), bytes])
  return [0, 1, 2].flatMap(offset => {
    const text = padded.toString('base64', 2 - offset)
    const form = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
    return /[+/]/.test(form) ? [form, form.replaceAll('+', '-').replaceAll('/', '_')] : [form]
  })
}
