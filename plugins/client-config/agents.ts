import type { JsonObject } from 'patchbay/contract'
import type { ClientConfig, EndpointInfo } from 'patchbay/features'
import { headers, yaml } from './fields.ts'

const ROO = 'Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json'

/** Coding agents whose configuration lists each server with a `url` and `headers`. */
export const AGENTS: Readonly<Record<string, ClientConfig>> = {
  // https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/
  qwen: {
    label: 'Qwen Code',
    places: [{ path: '~/.qwen/settings.json' }, { path: '.qwen/settings.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { httpUrl: endpoint.url, headers: headers(endpoint) } } }),
  },
  // https://kiro.dev/docs/mcp/configuration
  kiro: {
    label: 'Kiro',
    places: [{ path: '~/.kiro/settings/mcp.json' }, { path: '.kiro/settings/mcp.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: remote(endpoint) } }),
  },
  // https://docs.roocode.com/features/mcp/using-mcp-in-roo
  roo: {
    label: 'Roo Code',
    places: [
      { os: 'mac', path: `~/Library/Application Support/${ROO}` },
      { os: 'windows', path: `%APPDATA%/${ROO}` },
      { os: 'linux', path: `~/.config/${ROO}` },
      { path: '.roo/mcp.json' },
    ],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { type: 'streamable-http', ...remote(endpoint) } } }),
  },
  // https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
  'copilot-cli': {
    label: 'GitHub Copilot CLI',
    places: [{ path: '~/.copilot/mcp-config.json' }, { path: '.github/mcp.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { type: 'http', ...remote(endpoint), tools: ['*'] } } }),
  },
  // https://ampcode.com/manual#mcp
  amp: {
    label: 'Amp',
    places: [{ path: '~/.config/amp/settings.json' }, { path: '.amp/settings.json' }],
    format: 'json',
    entry: endpoint => ({ 'amp.mcpServers': { [endpoint.name]: remote(endpoint) } }),
  },
  // https://hermes-agent.nousresearch.com/docs/user-guide/features/mcp
  hermes: {
    label: 'Hermes',
    places: [{ path: '~/.hermes/config.yaml' }],
    format: 'yaml',
    entry: endpoint =>
      yaml('mcp_servers', `  ${endpoint.name}:`, endpoint, ['url: $URL', 'headers:', '  Authorization: $KEY']),
  },
}

function remote(endpoint: EndpointInfo): JsonObject {
  return { url: endpoint.url, headers: headers(endpoint) }
}
