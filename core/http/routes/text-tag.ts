import { createHash } from 'node:crypto'

/** An entity tag for a text: equal texts have equal tags. */
export function textTag(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
}

/** True when `If-None-Match` contains the tag, so that the client already has this text. */
export function hasTag(headers: Headers, tag: string): boolean {
  const known = (headers.get('if-none-match') ?? '').split(',').map(each => each.trim())
  return known.some(each => each === '*' || each.replace(/^W\//, '') === tag)
}
