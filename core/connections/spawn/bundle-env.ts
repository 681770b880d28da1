import { BUNDLE_FOLDER } from '../../domain/server/bundle.ts'

/** For `uv run` of a bundle: its packages are installed, its folder is read-only, and nothing is downloaded. */
export const BUNDLE_UV_ENV = {
  ...{ UV_OFFLINE: '1', UV_NO_SYNC: '1', UV_FROZEN: '1', UV_NO_CONFIG: '1', UV_PYTHON_DOWNLOADS: 'never' },
  ...{ UV_PROJECT_ENVIRONMENT: `${BUNDLE_FOLDER}/.venv`, UV_CACHE_DIR: '/tmp/uv' },
} as const
