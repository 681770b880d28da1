/** A platform that hosts MCP servers, and takes a key of its user. */
export interface HostedPlatform {
  readonly label: string
  /** Exact host names; one that begins with a dot means all hosts below it. */
  readonly hosts: readonly string[]
  /** Address at which the user finds the key. */
  readonly docs?: string
}

/** The platforms that are built into the plugin. */
export const BUILT_IN: Readonly<Record<string, HostedPlatform>> = {
  modelscope: {
    label: 'ModelScope',
    hosts: ['mcp.api-inference.modelscope.net'],
    docs: 'https://modelscope.cn/my/myaccesstoken',
  },
}

/**
 * The platform of an address, by its host alone. None for an address that is not https on the usual port, has a user name, or is
 * in the list of two platforms: a key must not be sent to the wrong one.
 */
export function platformOf(
  platforms: Readonly<Record<string, HostedPlatform>>,
  address: string,
): { readonly name: string } | { readonly claimedBy: readonly string[] } | undefined {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:' || url.port !== '' || `${url.username}${url.password}` !== '') return undefined
  // As in the resolver, a trailing dot is ignored.
  const host = url.hostname.toLowerCase().replace(/\.$/, '')
  const names = Object.keys(platforms).filter(name => platforms[name]?.hosts.some(listed => isOf(host, listed)))
  const [name, ...others] = names
  if (name === undefined) return undefined
  return others.length > 0 ? { claimedBy: names } : { name }
}

function isOf(host: string, listed: string): boolean {
  const wanted = listed.toLowerCase()
  return wanted.startsWith('.') ? host.endsWith(wanted) && host.length > wanted.length : host === wanted
}
