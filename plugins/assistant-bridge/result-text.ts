import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

const MARK = '… [cut]'

/** JSON of a result for an assistant: its texts have at most this number of characters together, whatever the server answered. */
export function shortResult(result: JsonObject, most: number): string {
  const parts = Array.isArray(result.content) ? result.content.flatMap(partText) : []
  const structured = result.structuredContent
  if (parts.length === 0 && structured !== undefined) parts.push(JSON.stringify(structured))
  const texts: string[] = []
  let left = most
  for (const part of parts) {
    if (left <= 0) break
    // Code units are an upper bound of characters, so that short texts are not split.
    const characters = part.length <= left ? undefined : [...part]
    if (!characters || characters.length <= left) {
      texts.push(part)
      left -= characters?.length ?? part.length
      continue
    }
    texts.push(`${characters.slice(0, Math.max(0, left - MARK.length)).join('')}${MARK}`)
    left = 0
  }
  const content = texts.map(text => ({ type: 'text', text }))
  return JSON.stringify({ content, isError: result.isError === true })
}

function partText(item: JsonValue): string[] {
  if (!isJsonObject(item)) return []
  const { type, text, mimeType, data, resource, uri, name } = item
  if (type === 'text') return typeof text === 'string' ? [text] : []
  if (type === 'image' || type === 'audio') return [`[${type}${suffix(mimeType)}, ${sizeOf(data)}]`]
  if (type === 'resource' && isJsonObject(resource)) {
    if (typeof resource.text === 'string') return [resource.text]
    return [`[resource${suffix(resource.uri)}${suffix(resource.mimeType)}]`]
  }
  if (type === 'resource_link') return [`[link${suffix(name)}${suffix(uri)}]`]
  return [`[${typeof type === 'string' ? type.slice(0, 32) : 'content'}]`]
}

function suffix(value: JsonValue | undefined): string {
  return typeof value === 'string' && value !== '' ? ` ${value.slice(0, 200)}` : ''
}

/** Size of base64 data, as a text. */
function sizeOf(data: JsonValue | undefined): string {
  const bytes = typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0
  return bytes < 1_024 ? `${bytes} bytes` : `${Math.round(bytes / 1_024)} KB`
}
