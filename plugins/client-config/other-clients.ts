import type { JsonObject } from 'patchbay/contract'
import type { ClientConfig, EndpointInfo } from 'patchbay/features'
import { headers, yaml } from './fields.ts'

const CLINE = 'Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'

/** Clients whose own forms differ from a plain map of `url` and `headers`, or whose files are YAML. */
export const OTHER_CLIENTS: Readonly<Record<string, ClientConfig>> = {
  cline: {
    label: 'Cline',
    places: [
      { os: 'mac', path: `~/Library/Application Support/${CLINE}` },
      { os: 'windows', path: `%APPDATA%/${CLINE}` },
      { os: 'linux', path: `~/.config/${CLINE}` },
    ],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { type: 'streamableHttp', ...remote(endpoint) } } }),
  },
  crush: {
    label: 'Crush',
    places: [{ path: '~/.config/crush/crush.json' }, { path: 'crush.json' }],
    format: 'json',
    entry: endpoint => ({ mcp: { [endpoint.name]: { type: 'http', ...remote(endpoint) } } }),
  },
  opencode: {
    label: 'opencode',
    places: [{ path: '~/.config/opencode/opencode.json' }, { path: 'opencode.json' }],
    format: 'json',
    entry: endpoint => ({ mcp: { [endpoint.name]: { type: 'remote', ...remote(endpoint), enabled: true } } }),
  },
  '1mcp': {
    label: '1MCP',
    places: [{ path: '~/.config/1mcp/mcp.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { type: 'http', ...remote(endpoint) } } }),
  },
  goose: {
    label: 'Goose',
    places: [
      { path: '~/.config/goose/config.yaml' },
      { os: 'windows', path: '%APPDATA%/Block/goose/config/config.yaml' },
    ],
    format: 'yaml',
    entry: endpoint =>
      yaml('extensions', `  ${endpoint.name}:`, endpoint, [
        'enabled: true',
        'type: streamable_http',
        `name: ${endpoint.name}`,
        'description: ""',
        'uri: $URL',
        'envs: {}',
        'env_keys: []',
        'headers:',
        '  Authorization: $KEY',
        'timeout: 300',
      ]),
  },
  librechat: {
    label: 'LibreChat',
    places: [{ path: 'librechat.yaml' }],
    format: 'yaml',
    note: 'Servers on this machine or in a private network also need mcpSettings.allowedDomains in librechat.yaml.',
    entry: endpoint =>
      yaml('mcpServers', `  ${endpoint.name}:`, endpoint, [
        'type: streamable-http',
        'url: $URL',
        'headers:',
        '  Authorization: $KEY',
      ]),
  },
  continue: {
    label: 'Continue',
    places: [{ path: '~/.continue/config.yaml' }, { path: '.continue/config.yaml' }],
    format: 'yaml',
    entry: endpoint =>
      yaml('mcpServers', `  - name: ${endpoint.name}`, endpoint, [
        'type: streamable-http',
        'url: $URL',
        'requestOptions:',
        '  headers:',
        '    Authorization: $KEY',
      ]),
  },
  litellm: {
    label: 'LiteLLM',
    places: [{ path: 'litellm_config.yaml' }],
    format: 'yaml',
    entry: endpoint =>
      yaml('mcp_servers', `  ${endpoint.name.replaceAll('-', '_')}:`, endpoint, [
        'transport: http',
        'url: $URL',
        'static_headers:',
        '  Authorization: $KEY',
      ]),
  },
}

function remote(endpoint: EndpointInfo): JsonObject {
  return { url: endpoint.url, headers: headers(endpoint) }
}
