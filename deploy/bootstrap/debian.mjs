// A program out of a Debian package, unpacked into a folder of the checkout: nothing is installed, no root needed.
//  D1  Only the machine's own apt sources are used, and of those only the Debian archive's. apt verifies the signed
//      index and the package's digest against it with the machine's own keys.
//  D2  Lists, cache and sources are private folders: the machine's apt state is never touched.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { mustRun, onPath } from './exec.mjs';

const ETC = '/etc/apt';

function aptFiles() {
  const parts = join(ETC, 'sources.list.d');
  let names = [];
  try {
    names = readdirSync(parts).sort();
  } catch {
    // A machine without that folder has everything in sources.list.
  }
  return [join(ETC, 'sources.list'), ...names.map((name) => join(parts, name))];
}

/** Debian's archive, and not another vendor's that serves packages for Debian: those sign with their own key. */
function isArchive(uris, signedBy) {
  if (/security/.test(uris)) return false;
  return signedBy ? /debian-archive/.test(signedBy) : /\/debian\/?(\s|$)/.test(uris);
}

const withoutSecurity = (suites) =>
  suites.split(/\s+/).filter((suite) => suite && !suite.includes('security'));

/** One deb822 stanza, rewritten to `suite` or else left with its own suites; undefined when it is none of ours. */
function stanzaOf(text, suite) {
  const lines = text.split('\n').filter((line) => !line.startsWith('#'));
  const field = (name) =>
    new RegExp(`^${name}:[ \\t]*(.*(?:\\n[ \\t].*)*)`, 'im').exec(lines.join('\n'))?.[1]?.trim() ?? '';
  const suites = withoutSecurity(field('Suites'));
  if (!/\bdeb\b/.test(field('Types')) || /^no$/i.test(field('Enabled'))) return undefined;
  if (suites.length === 0 || !isArchive(field('URIs'), field('Signed-By'))) return undefined;
  const signedBy = field('Signed-By') ? `\nSigned-By: ${field('Signed-By')}` : '';
  return `Types: deb\nURIs: ${field('URIs')}\nSuites: ${suite ?? suites.join(' ')}\nComponents: main${signedBy}\n`;
}

/** One `deb …` line in the same form as a stanza. */
function stanzaOfLine(line, suite) {
  const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s/.exec(`${line} `);
  if (!match) return undefined;
  const [, options = '', uri, own] = match;
  const signedBy = /signed-by=(\S+)/i.exec(options)?.[1];
  const fields = [
    'Types: deb',
    `URIs: ${uri}`,
    `Suites: ${own}`,
    ...(signedBy ? [`Signed-By: ${signedBy}`] : []),
  ];
  return stanzaOf(fields.join('\n'), suite);
}

/** The machine's sources of the Debian archive as deb822 text, all pointing at `suite` when one is given. */
export function archiveSources(suite, files = aptFiles()) {
  const stanzas = files.flatMap((file) => {
    let text = '';
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      return [];
    }
    if (file.endsWith('.sources')) return text.split(/\n\s*\n/).map((part) => stanzaOf(part, suite));
    return file.endsWith('.list') ? text.split('\n').map((line) => stanzaOfLine(line, suite)) : [];
  });
  return [...new Set(stanzas.filter(Boolean))].join('\n');
}

/** Undefined when this machine can fetch Debian packages, else why it can't. */
function whyNoDebian() {
  for (const program of ['apt-get', 'dpkg-deb']) if (!onPath(program)) return `no ${program} here`;
  return archiveSources() ? undefined : 'no apt source of the Debian archive here';
}

/**
 * Unpacks the newest `name` of `suite` (default: the machine's own) into the folder `into`.
 * @param {{tools: string}} context
 * @param {{name: string, suite?: string, into: string}} wanted
 */
export async function unpackDebian(context, { name, suite, into }) {
  const missing = whyNoDebian();
  if (missing) throw new Error(missing);
  mkdirSync(context.tools, { recursive: true });
  const work = mkdtempSync(join(context.tools, 'apt-'));
  const folder = (...parts) => {
    const path = join(work, ...parts);
    mkdirSync(path, { recursive: true });
    return path;
  };
  try {
    folder('state', 'lists', 'partial');
    folder('cache', 'archives', 'partial');
    writeFileSync(join(folder('sources'), 'archive.sources'), archiveSources(suite));
    const settings = [
      `Dir::State=${folder('state')}`,
      `Dir::Cache=${folder('cache')}`,
      'Dir::Etc::sourcelist=/dev/null',
      `Dir::Etc::sourceparts=${folder('sources')}`,
      'Acquire::Languages=none',
      'Acquire::Retries=1',
      'Acquire::http::Timeout=20',
      // These folders belong to whoever runs this, so apt's own download user could not write to them.
      'APT::Sandbox::User=root',
    ].flatMap((setting) => ['-o', setting]);
    const download = folder('download');
    await mustRun('apt-get', [...settings, '-qq', 'update'], { cwd: work });
    await mustRun('apt-get', [...settings, '-qq', 'download', name], { cwd: download });
    const [file] = readdirSync(download);
    if (!file) throw new Error(`apt-get downloaded nothing for ${name}`);
    await mustRun('dpkg-deb', ['-x', join(download, file), folder('unpacked')]);
    rmSync(into, { recursive: true, force: true });
    renameSync(folder('unpacked'), into);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
