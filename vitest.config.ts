import { defineConfig } from 'vitest/config';

const shared = { exclude: ['**/node_modules/**', '**/dist/**', '**/.tools/**'] };

export default defineConfig({
  test: {
    // Two processes at once: more of them only make real servers and sandboxes wait for one another.
    maxWorkers: 2,
    passWithNoTests: false,
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: 'pure',
          include: ['**/*.test.ts'],
          exclude: [...shared.exclude, '**/*.int.test.ts', '**/*.e2e.test.ts'],
          testTimeout: 10_000,
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: 'int',
          include: ['**/*.int.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: 'e2e',
          include: ['**/*.e2e.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
