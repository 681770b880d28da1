import { Buffer } from 'node:buffer'

/** Shorter secrets are not looked for: they would match ordinary words. In UTF-16 code units. */
export const SHORTEST_SECRET = 8

/**
 * The byte strings (one character per byte) that a secret is searched as: its UTF-8 and Latin-1 bytes, the bytes with `+` for
 * spaces as forms have it, what base64 of both alphabets makes of it at any offset, and hexadecimal. Percent-encoding and JSON
 * escapes can be over-encoded in too many ways, so the text is decoded instead; only their usual forms are here, for a text
 * in which a stray `%0` or backslash before the secret takes its first character for its own.
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
  // As `btoa`, `escape` and older HTTP clients have it, where that is something else.
  if (/[\u0080-\u00ff]/.test(secret) && !/[\u0100-\uffff]/.test(secret)) {
    const latin1 = Buffer.from(secret, 'latin1')
    forms.push(latin1.toString('latin1'), ...base64Forms(latin1))
  }
  return forms
}

function usualEscapes(secret: string): string[] {
  if (/^[\w.~-]*$/.test(secret)) return []
  const json = JSON.stringify(secret).slice(1, -1)
  // Half a surrogate pair has no UTF-8 form, and these functions refuse it.
  const component = encodeURIComponent(secret.toWellFormed())
  const lower = component.replace(/%[0-9A-F]{2}/g, hex => hex.toLowerCase())
  return [json, component, component.replaceAll('%20', '+'), lower, lower.replaceAll('%20', '+')]
}

/** The characters of base64 that depend on the secret alone, for each of the three offsets at which it may begin. */
function base64Forms(bytes: Buffer): string[] {
  const padded = Buffer.concat([Buffer.alloc(2), bytes])
  return [0, 1, 2].flatMap(offset => {
    const text = padded.toString('base64', 2 - offset)
    const form = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
    return /[+/]/.test(form) ? [form, form.replaceAll('+', '-').replaceAll('/', '_')] : [form]
  })
}
