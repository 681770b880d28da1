import type { JsonObject, JsonValue } from '../contract/json.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * True when an entry of a client leads to this hub, at one of its own addresses, directly or by a bridge such as mcp-remote.
 */
export function leadsToHub(body: JsonObject, hubUrl: string): boolean {
  const own = originOf(hubUrl)
  const texts: JsonValue[] = [body.url ?? null, ...(Array.isArray(body.args) ? body.args : [])]
  return texts.some(text => {
    if (typeof text !== 'string' || !/^https?:\/\/[^?#]*\/(?:mcp|sse)(?:[/?#]|$)/.test(text)) return false
    return own !== undefined && originOf(text) === own
  })
}

/** Replaces all names of this machine by one. */
function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname, port } = new URL(url)
  return `${protocol}//${LOOPBACK.has(hostname) ? 'localhost' : hostname}:${port}`
}
