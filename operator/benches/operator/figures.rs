//! How figures are shown, what the kernel says of a process, and processes of which that is asked.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

pub(crate) fn verdict(figure: &str, goal: &str, good: bool) -> bool {
    println!("{figure}; goal {goal}: {}", if good { "reached" } else { "MISSED" });
    good
}

fn sorted(figures: &[f64]) -> Vec<f64> {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures
}

pub(crate) fn median(figures: &[f64]) -> f64 {
    sorted(figures)[figures.len() / 2]
}

/// Median, least and most.
pub(crate) fn spread(figures: &[f64]) -> String {
    let (least, most) = (sorted(figures)[0], sorted(figures)[figures.len() - 1]);
    format!("{:.2} ({least:.2} to {most:.2})", median(figures))
}

/// Of this process, in kB: `VmRSS`, or at its largest `VmHWM`.
pub(crate) fn kb(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The processor time of this process so far, in seconds, its own and the system's for it.
pub(crate) fn processor() -> f64 {
    /// What the kernel counts in, whatever it ticks with.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name, in parentheses, may have anything in it.
    let rest = stat.rsplit_once(')').unwrap().1;
    let ticks: f64 =
        rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / TICKS
}

/// This program once more, as a process of its own: each line that it is told is answered by one of figures.
pub(crate) struct Other {
    child: Child,
    tells: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (tells, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, tells, answers: BufReader::new(answers) }
    }

    /// Tells it something, and waits for its figures.
    pub(crate) fn ask<const COUNT: usize>(&mut self, what: &str) -> [f64; COUNT] {
        writeln!(self.tells, "{what}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let figures: Vec<f64> = line.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
        figures.try_into().expect("the process that is measured has ended")
    }

    /// How many files and sockets it has open.
    pub(crate) fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The other side: answers each line, until there are no more.
pub(crate) fn answer(mut figures: impl FnMut(&str) -> Vec<f64>) {
    for line in std::io::stdin().lines() {
        let figures: Vec<String> = figures(line.unwrap().trim()).iter().map(f64::to_string).collect();
        println!("{}", figures.join(" "));
    }
}
