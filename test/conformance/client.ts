/**
 * What the suite's client leg starts for each scenario. Nothing is loaded and no hub started in vain: 20 to 31 scenarios at
 * once are about OAuth, which the hub does not speak to servers.
 */
if (process.env.MCP_CONFORMANCE_SCENARIO?.startsWith('auth/')) throw new Error('The hub speaks no OAuth to servers')
await import('./client-through-hub.ts')

export {}
