import manifest from '../../package.json' with { type: 'json' }

/** Version of the hub, such as `1.2.0`. */
export const HUB_VERSION: string = manifest.version
