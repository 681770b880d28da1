/**
 * The registrations, documents and requests of clients that people use, in the form that is publicly documented. Names, addresses and
 * parameters are as the clients send them, in their order; secrets, codes and states are of the test.
 */

/** A client as its requests show it. */
export interface RecordedClient {
  readonly name: string
  /** Public descriptions of its requests. */
  readonly sources: readonly string[]
  /** The document at its id, with the id and the address of keys as published. */
  readonly document?: Readonly<Record<string, unknown>> & { readonly client_id: string }
  /** The body of its registration. */
  readonly registration?: Readonly<Record<string, unknown>>
  readonly redirectUri: string
  /** Names of the parameters at `/authorize`, in its order. */
  readonly authorize: readonly string[]
  readonly scope: string
  /** Names of the fields of the form at `/token`, in its order. */
  readonly token: readonly string[]
  readonly refresh: readonly string[]
}

const VSCODE_AUTHORIZE = [
  ...['client_id', 'response_type', 'code_challenge', 'code_challenge_method', 'scope', 'resource'],
  ...['redirect_uri', 'state'],
]
const VSCODE_TOKEN = ['client_id', 'grant_type', 'code', 'redirect_uri', 'code_verifier', 'resource']
const VSCODE_REFRESH = ['client_id', 'grant_type', 'refresh_token', 'resource']
/** The order of the official TypeScript client, on which Claude Code and Cursor stand. */
const SDK_AUTHORIZE = [
  ...['response_type', 'client_id', 'code_challenge', 'code_challenge_method', 'redirect_uri', 'state', 'scope'],
  'resource',
]
const SDK_TOKEN = ['grant_type', 'code', 'code_verifier', 'redirect_uri', 'client_id', 'resource']
const SDK_REFRESH = ['grant_type', 'refresh_token', 'client_id', 'resource']
const HOSTED_AUTHORIZE = [
  ...['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method', 'state', 'scope'],
  'resource',
]
const HOSTED_TOKEN = ['grant_type', 'code', 'client_id', 'redirect_uri', 'code_verifier', 'resource']

/** The clients; where a client has both ways, one entry for each. */
export const RECORDED: readonly RecordedClient[] = [
  {
    name: 'Claude, by its document',
    sources: [
      'https://claude.ai/oauth/mcp-oauth-client-metadata',
      'https://claude.com/docs/connectors/building/authentication',
    ],
    document: {
      client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    ...{ authorize: HOSTED_AUTHORIZE, token: HOSTED_TOKEN, refresh: SDK_REFRESH },
    scope: 'mcp:tools mcp:read offline_access',
  },
  {
    name: 'Claude, registered',
    sources: ['https://github.com/anthropics/claude-ai-mcp/issues/1043'],
    registration: {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp:tools mcp:read offline_access',
      token_endpoint_auth_method: 'client_secret_post',
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    authorize: HOSTED_AUTHORIZE,
    token: [...HOSTED_TOKEN, 'client_secret'],
    refresh: [...SDK_REFRESH, 'client_secret'],
    scope: 'mcp:tools mcp:read offline_access',
  },
  {
    name: 'Claude Code, registered',
    sources: ['https://code.claude.com/docs/en/mcp', 'https://github.com/elmohq/elmo/pull/684'],
    registration: {
      client_name: 'Claude Code (hub)',
      redirect_uris: ['http://localhost:3118/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    redirectUri: 'http://localhost:3118/callback',
    ...{ authorize: SDK_AUTHORIZE, token: SDK_TOKEN, refresh: SDK_REFRESH },
    scope: 'mcp:tools',
  },
  {
    name: 'Claude Code, by its document, on a free port',
    sources: ['https://claude.ai/oauth/claude-code-client-metadata', 'https://code.claude.com/docs/en/mcp'],
    document: {
      client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
      client_name: 'Claude Code',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'http://localhost:51234/callback',
    ...{ authorize: SDK_AUTHORIZE, token: SDK_TOKEN, refresh: SDK_REFRESH },
    scope: 'mcp:tools offline_access',
  },
  {
    name: 'ChatGPT, by its document and keys',
    sources: ['https://chatgpt.com/oauth/client.json', 'https://developers.openai.com/plugins/build/auth'],
    document: {
      client_id: 'https://chatgpt.com/oauth/client.json',
      client_uri: 'https://chatgpt.com/',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      client_name: 'ChatGPT',
      logo_uri: 'https://persistent.oaistatic.com/sonic/misc/openai-logo.png',
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
    },
    redirectUri: 'https://chatgpt.com/connector_platform_oauth_redirect',
    authorize: HOSTED_AUTHORIZE,
    token: [...HOSTED_TOKEN, 'client_assertion_type', 'client_assertion'],
    refresh: [...SDK_REFRESH, 'client_assertion_type', 'client_assertion'],
    scope: 'mcp:tools mcp:read offline_access',
  },
  {
    name: 'ChatGPT, registered, with the address of one connector',
    sources: [
      'https://developers.openai.com/apps-sdk/deploy/connect-chatgpt',
      'https://github.com/BasedHardware/omi/issues/8824',
    ],
    registration: {
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct',
    ...{ authorize: HOSTED_AUTHORIZE, token: HOSTED_TOKEN, refresh: SDK_REFRESH },
    scope: 'mcp:tools mcp:read',
  },
  {
    name: 'VS Code, by its document',
    sources: [
      'https://vscode.dev/oauth/client-metadata.json',
      'https://github.com/microsoft/vscode: src/vs/workbench/api/node/extHostAuthentication.ts',
    ],
    document: {
      client_name: 'Visual Studio Code',
      logo_uri: 'https://code.visualstudio.com/assets/branding/code-stable.png',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      client_id: 'https://vscode.dev/oauth/client-metadata.json',
      client_uri: 'https://vscode.dev/product',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    },
    redirectUri: 'http://127.0.0.1:33418/',
    ...{ authorize: VSCODE_AUTHORIZE, token: VSCODE_TOKEN, refresh: VSCODE_REFRESH },
    scope: 'mcp:tools',
  },
  {
    name: 'VS Code, registered',
    sources: ['https://github.com/microsoft/vscode: src/vs/base/common/oauth.ts, fetchDynamicRegistration'],
    registration: {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      scope: 'mcp:tools',
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    redirectUri: 'http://127.0.0.1:33418/',
    ...{ authorize: VSCODE_AUTHORIZE, token: VSCODE_TOKEN, refresh: VSCODE_REFRESH },
    scope: 'mcp:tools',
  },
  {
    name: 'Cursor, registered',
    sources: [
      'https://cursor.com/docs/context/mcp',
      'https://github.com/erp-mafia/accounted/pull/2225',
      'https://forum.cursor.com/t/oauth-redirect-uri-changed-from-cursor-to-http-localhost-for-streamable-http-mcp/165019',
    ],
    registration: {
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback',
    ...{ authorize: SDK_AUTHORIZE, token: SDK_TOKEN, refresh: SDK_REFRESH },
    scope: 'mcp:tools',
  },
]
