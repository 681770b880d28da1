/** The place for which a passkey is made: a browser offers it there and nowhere else. */
export interface Place {
  /** The host name, as `rpId`. */
  readonly host: string
  /** Scheme, host and port, as browsers write it. */
  readonly origin: string
}

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[.*\])$/
const OWN_MACHINE = /^(?:.+\.)?localhost$/

/** The place of an address of the hub; undefined where browsers make no passkeys: at an IP address, and without https. */
export function placeOf(baseUrl: string): Place | undefined {
  const { hostname: host, origin, protocol } = new URL(baseUrl)
  if (ADDRESS.test(host)) return undefined
  return protocol === 'https:' || OWN_MACHINE.test(host) ? { host, origin } : undefined
}
