/** A platform that hosts MCP servers, and takes a key of its user. */
export interface HostedPlatform {
  readonly label: string
  /** Exact host names; one that begins with a dot stands for all below it. */
  readonly hosts: readonly string[]
  /** Where its user finds the key. */
  readonly docs?: string
}

/** The platforms that the plugin knows by itself. */
export const BUILT_IN: Readonly<Record<string, HostedPlatform>> = {
  modelscope: {
    label: 'ModelScope',
    hosts: ['mcp.api-inference.modelscope.net'],
    docs: 'https://modelscope.cn/my/myaccesstoken',
  },
}

/**
 * The platform of an address, by its host alone. None for what is not https on the usual port, has a user name, or stands in
 * the list of two platforms: a key must not go where another one may be meant.
 */
export function platformOf(
  platforms: Readonly<Record<string, HostedPlatform>>,
  address: string,
): { readonly name: string } | { readonly claimedBy: readonly string[] } | undefined {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:' || url.port !== '' || `${url.username}${url.password}` !== '') return undefined
  // As the resolver takes it: a dot at the end changes nothing.
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
